"""Functions of one number: for each ONNX operator, the text of the term that computes it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from explore.operators.program_text import number
from ir.core.frozen import frozen


@frozen
class Activation:
    """A function of one number: the names and default values of its attributes, and `of`, which
    gives the text of the result from the text of x and the attributes' numbers."""

    attributes: tuple[tuple[str, float], ...]
    of: Callable[..., str]

    def applied(self, given: Mapping[str, Any], x: str) -> str:
        """The text of the function applied to x, with the attributes `given` by a node."""
        numbers = [number(float(given.get(name, usual))) for name, usual in self.attributes]
        return self.of(x, *numbers)


ACTIVATIONS: Mapping[str, Activation] = {
    "Relu": Activation((), lambda x: f"relu({x})"),
    "LeakyRelu": Activation((("alpha", 0.01),), lambda x, a: f"leaky_relu({a}, {x})"),
    "Sigmoid": Activation((), lambda x: f"sigmoid({x})"),
    "HardSigmoid": Activation(
        (("alpha", 0.2), ("beta", 0.5)), lambda x, a, b: f"hard_sigmoid({a}, {b}, {x})"
    ),
    "HardSwish": Activation((), lambda x: f"hard_swish({x})"),
    "Elu": Activation((("alpha", 1.0),), lambda x, a: f"elu({a}, {x})"),
    "Celu": Activation((("alpha", 1.0),), lambda x, a: f"celu({a}, {x})"),
    "Selu": Activation(
        (("alpha", 1.67326319217681884765625), ("gamma", 1.05070102214813232421875)),
        lambda x, a, g: f"{g} * elu({a}, {x})",
    ),
    "Softplus": Activation((), lambda x: f"softplus({x})"),
    "Softsign": Activation((), lambda x: f"softsign({x})"),
    "Mish": Activation((), lambda x: f"mish({x})"),
    "ThresholdedRelu": Activation((("alpha", 1.0),), lambda x, a: f"threshold({a}, {x})"),
    "Tanh": Activation((), lambda x: f"tanh({x})"),
    "Exp": Activation((), lambda x: f"exp({x})"),
    "Log": Activation((), lambda x: f"log({x})"),
    "Sqrt": Activation((), lambda x: f"sqrt({x})"),
    "Abs": Activation((), lambda x: f"abs({x})"),
    "Neg": Activation((), lambda x: f"0.0 - {x}"),
    "Reciprocal": Activation((), lambda x: f"1.0 / {x}"),
}


def clipped(low: float | None, high: float | None, x: str) -> str:
    """The text of x limited to at least `low` and at most `high`; None is no limit."""
    x = x if low is None else f"max({number(low)}, {x})"
    return x if high is None else f"min({number(high)}, {x})"


IDENTITY = "y -> y"


def function_of(folded: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The text of the function y -> … that applies the `folded` operators one after the other:
    pairs of an operator's name and its attributes."""
    lets, text = list[str](), "y"
    for operator, given in folded:
        inner = text if text == "y" else f"({text})"
        if operator == "Function":  # its text may have y several times: what y is gets a name
            if text != "y":
                name = f"y{len(lets) + 1}"
                lets.append(f"let {name} = {text}")
            else:
                name = "y"
            text = re.sub(r"\by\b", name, str(given["of"]))
        elif operator == "Clip":
            text = clipped(given["low"], given["high"], inner)
        else:
            text = ACTIVATIONS[operator].applied(given, inner)
    return "y -> " + "\n".join([*lets, text])
