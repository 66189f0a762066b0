"""The emission of reductions: an accumulator in private memory, updated in place where that is
safe."""

# key: e term, env what variables are bound to, k iteration

from dataclasses import dataclass, replace

from codegen.emit import materialise as making
from codegen.emit import write_places as places
from codegen.emit.bound_values import Env, hint_of
from codegen.emit.prefetch import Pipeline, pipeline
from codegen.emit.read_views import ArrayView, TupleView, View, array, spread
from codegen.emit.recursion import Recursion
from codegen.emit.write_places import Place, view_of
from codegen.index.index import Index
from codegen.tree.emitted_names import loop
from codegen.tree.in_place import overwrites
from codegen.tree.move_memory import Location, moved
from codegen.tree.statements import Unroll
from ir.core.nodes import Expr, Lam, Pattern, Reduce, ReduceSeq, Var
from ir.core.type_rules import type_of


def reduce(emitter: Recursion, e: ReduceSeq | Reduce, env: Env, to: Place | None) -> View:
    """The view of the result of a reduction, after statements that compute it and put it at the
    place `to`, unless that is None.

    The accumulator is at `to` if that is private memory of one work-item, without guards; else it
    is in new private memory, and is copied to `to` at the end.
    """
    xs = array(emitter.read(e.xs, env))
    here = to is not None and places.is_own(to)
    acc = to if here and to is not None else making.private(emitter, e, hint_of(e.f.pattern))
    _start(emitter, e, env, acc)
    ahead, body = pipeline(emitter, e.f, xs, env)
    step = _Step(emitter, e, body, env, acc, ahead)
    if ahead is not None:
        ahead.prologue()
    unroll = Unroll.YES if isinstance(e, ReduceSeq) and e.unrolled else Unroll.NO
    hint = loop(_element_hint(e.f.pattern))
    ahead_of = isinstance(e, ReduceSeq) and e.ahead
    emitter.scope.loop(hint, xs.axis.size, lambda k: step.iteration(xs, k), unroll, ahead_of)
    if to is not None and not here:
        emitter.copy(view_of(acc), to)
    return view_of(acc)


def _start(emitter: Recursion, e: ReduceSeq | Reduce, env: Env, acc: Place) -> None:
    """Add statements that set the accumulator, at the place `acc`, to the initial value of the
    reduction e; an initial scalar is put in every lane of a vector."""
    if type_of(e.init) == type_of(e):
        emitter.emit(e.init, env, acc)
    else:
        emitter.copy(spread(type_of(e), emitter.read(e.init, env)), acc)


@dataclass(slots=True)
class _Step:
    """The emission of one iteration of a reduction; `inner` is the body of its function without the
    lets whose loads run an iteration `ahead`, if there are any."""

    emitter: Recursion
    e: ReduceSeq | Reduce
    inner: Expr
    env: Env
    acc: Place
    ahead: Pipeline | None

    def iteration(self, xs: ArrayView, k: Index) -> None:
        if self.ahead is None:
            self.step(xs.at(k), self.env)
            return
        env = self.ahead.views(self.env, k)
        self.ahead.around(k, lambda: self.step(xs.at(k), env))

    def step(self, x: View, env: Env) -> None:
        """Add statements for acc = f(acc, x), in place; or, if f would then read cells of acc that
        it has written already, in new private memory that is copied to acc."""
        scope = self.emitter.scope
        old = {c.memory: replace(c.memory) for c in places.cells(self.acc)}
        back = {alias: memory for memory, alias in old.items()}
        scope.aliases.update(back)
        names = set(scope.names)
        _, done = scope.capture(lambda: self.body(view_of(self.acc, old), x, env, self.acc))
        if not overwrites(done, old):
            scope.add(moved(done, {alias: Location(memory) for alias, memory in back.items()}))
            return
        scope.names = names
        after = making.private(self.emitter, self.e, f"next_{hint_of(self.e.f.pattern)}")
        self.body(view_of(self.acc), x, env, after)
        self.emitter.copy(view_of(after), self.acc)

    def body(self, acc: View, x: View, env: Env, to: Place) -> None:
        f = Lam(self.e.f.pattern, self.inner)
        self.emitter.emit(self.inner, making.entered(self.emitter, f, TupleView((acc, x)), env), to)


def _element_hint(p: Pattern) -> str:
    return hint_of(p if isinstance(p, Var) else p[1])
