"""Reductions: an accumulator in private memory, updated in place where that is safe."""

# key: e term, env what variables are bound to, k iteration

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codegen import places
from codegen.binding import Env, hint_of
from codegen.condition import ALWAYS
from codegen.inplace import overwrites, retargeted
from codegen.places import Cell, Place, view_of
from codegen.tree import Space, Unroll
from codegen.views import TupleView, View, array, spread
from ir.nodes import Pattern, Reduce, ReduceSeq, Var
from ir.typing import type_of

if TYPE_CHECKING:
    from codegen.emit import Emitter


def reduce(emitter: Emitter, e: ReduceSeq | Reduce, env: Env, to: Place | None) -> View:
    """fold(init, f, xs), at its place if that is private memory of its own."""
    xs = array(emitter.read(e.xs, env))
    here = to is not None and _is_own(to)
    acc = to if here and to is not None else emitter.private(e, hint_of(e.f.pattern))
    _start(emitter, e, env, acc)
    step = _Step(emitter, e, env, acc)
    unroll = Unroll.YES if isinstance(e, ReduceSeq) and e.unrolled else Unroll.NO
    hint = f"i_{_element_hint(e.f.pattern)}"
    emitter.scope.loop(hint, xs.axis.size, lambda k: step(xs.at(k)), unroll)
    if to is not None and not here:
        emitter.copy(view_of(acc), to)
    return view_of(acc)


def _start(emitter: Emitter, e: ReduceSeq | Reduce, env: Env, acc: Place) -> None:
    """acc = init, a scalar standing for vectors of it"""
    if type_of(e.init) == type_of(e):
        emitter.emit(e.init, env, acc)
    else:
        emitter.copy(spread(type_of(e), emitter.read(e.init, env)), acc)


class _Step:
    """One iteration."""

    def __init__(self, emitter: Emitter, e: ReduceSeq | Reduce, env: Env, acc: Place) -> None:
        self.emitter = emitter
        self.e = e
        self.env = env
        self.acc = acc

    def __call__(self, x: View) -> None:
        """acc = f(acc, x), in place; through a second buffer if that would read what it wrote."""
        scope = self.emitter.scope
        old = {c.memory: replace(c.memory) for c in places.cells(self.acc)}
        scope.aliases.update({alias: memory for memory, alias in old.items()})
        names = set(scope.names)
        _, done = scope.capture(lambda: self.body(view_of(self.acc, old), x, self.acc))
        if not overwrites(done, old):
            scope.add(retargeted(done, {alias: memory for memory, alias in old.items()}))
            return
        scope.names = names
        hint = hint_of(self.e.f.pattern)
        after = self.emitter.private(self.e, f"next_{hint}")
        self.body(view_of(self.acc), x, after)
        self.emitter.copy(view_of(after), self.acc)

    def body(self, acc: View, x: View, to: Place) -> None:
        f = self.e.f
        env = self.emitter.entered(f, TupleView((acc, x)), self.env)
        self.emitter.emit(f.body, env, to)


def _is_own(place: Place) -> bool:
    return all(
        isinstance(c, Cell) and c.memory.space is Space.PRIVATE and c.guard == ALWAYS
        for c in places.cells(place)
    ) and not places.is_scattered(place)


def _element_hint(p: Pattern) -> str:
    return hint_of(p if isinstance(p, Var) else p[1])
