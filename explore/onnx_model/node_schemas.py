"""The demands that ONNX's own definition of an operator makes on its nodes: how many inputs and
results there are, and of which type attributes are."""

from typing import Any

import onnx

from ir.errors import UserError


def demand_fits_schema(proto: Any, title: str, opset: int) -> None:
    """Refuse a node (a `NodeProto` of ONNX's own operators) that is not as version `opset` of the
    operators defines it; messages call the node `title`. An operator that this version does not
    define is let through: later stages refuse it."""
    try:
        schema = onnx.defs.get_schema(proto.op_type, opset, "")
    except onnx.defs.SchemaError:
        return
    _demand_count(title, "inputs", len(proto.input), (schema.min_input, schema.max_input))
    _demand_count(title, "results", len(proto.output), (schema.min_output, schema.max_output))
    for n, (given, formal) in enumerate(zip(proto.input, schema.inputs, strict=False)):
        if not given and formal.option == onnx.defs.OpSchema.FormalParameterOption.Single:
            raise UserError(f"{title}: expected an input {n} ({formal.name}), found none")
    told = {a.name: a for a in proto.attribute}
    for name, attribute in schema.attributes.items():
        if attribute.required and name not in told:
            raise UserError(f"{title}: expected the attribute {name}, which it does not have")
        if name in told and told[name].type != attribute.type.value:
            kinds = onnx.AttributeProto.AttributeType
            raise UserError(
                f"{title}: expected {name} to be of type {attribute.type.name}, found "
                f"{kinds.Name(told[name].type)}"
            )


def _demand_count(title: str, what: str, found: int, limits: tuple[int, int]) -> None:
    least, most = limits
    if not least <= found <= most:
        told = f"{least} to {most}" if most < 1 << 20 else f"at least {least}"
        raise UserError(f"{title}: expected {told} {what}, found {found}")
