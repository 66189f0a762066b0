"""Tests of kernels that are made and launched through the C interface: what the driver says of
them, what it refuses, and that nothing of pyopencl's own kernels is needed."""

import gc
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from codegen.runtime.driver_kernel import DriverKernel
from codegen.runtime.results import BuildFailed, RunFailed
from codegen.runtime.session import Session, open_device
from tests.codegen.test_runtime import ROOT, X, Y, adding, edited


def test_a_kernel_that_its_text_lacks_is_named_with_the_driver_s_error(
    sessions: tuple[Session, ...],
) -> None:
    (only,) = adding().kernels
    for session in sessions:
        with pytest.raises(BuildFailed, match=r"'subtract': clCreateKernel .* error -46$"):
            session.build(replace(adding(), kernels=(replace(only, name="subtract"),)))


def test_the_driver_says_for_which_groups_a_kernel_was_compiled(
    sessions: tuple[Session, ...],
) -> None:
    fixed = edited(adding(), "void add", "__attribute__((reqd_work_group_size(16, 1, 1))) void add")
    for session in sessions:
        (free,), (bound,) = (session.build(p)._kernels for p in (adding(), fixed))
        device = session.handle.int_ptr
        assert (free.required_group(device), bound.required_group(device)) == (
            (0, 0, 0),
            (16, 1, 1),
        )
        assert free.num_args == 3
        assert free.most_items(device) >= 16


def test_an_argument_too_many_is_refused_with_the_kernel_s_name(
    sessions: tuple[Session, ...],
) -> None:
    for session in sessions:
        (kernel,) = session.build(adding())._kernels
        with pytest.raises(RunFailed, match="'add': clSetKernelArg failed with OpenCL error -49"):
            kernel.set_arguments([session.allocate(64)] * 4)


def test_a_kernel_is_given_back_once_and_holds_its_program(session: Session) -> None:
    """Its program lives as long as it does, though no one else holds that."""
    program = session.build(adding())
    (kernel,) = program._kernels
    again: DriverKernel = kernel.again()
    session.compiler.forget()
    del program, kernel
    gc.collect()
    assert again.num_args == 3
    assert again.again().address != again.address


FIRST_RUN = """
import sys
import numpy as np
from tests.codegen.test_runtime import X, Y, adding
from codegen.runtime.session import choose, open_device

program = open_device(choose(sys.argv[1])).build(adding())
assert np.array_equal(program({"x": X, "y": Y}), X + Y)
assert program.time({"x": X, "y": Y}, runs=2).runs == 2
print("pyopencl.invoker" in sys.modules)
"""


def test_runs_make_no_functions_in_python_for_kernels(session: Session) -> None:
    """pyopencl does for its own, and keeps them in a database, which took a megabyte or two."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_RUN, session.device.name],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=True,
    )
    assert done.stdout.split() == ["False"]


def test_launches_on_other_buffers_keep_their_arguments(session: Session) -> None:
    """A kernel that is launched with some buffers does not change what was recorded with others."""
    program = session.build(adding())
    first = program({"x": X, "y": Y})
    program.time({"x": 2 * X, "y": Y}, runs=1)
    assert np.array_equal(program({"x": X, "y": Y}), first)
    assert np.array_equal(open_device(session.device).build(adding())({"x": X, "y": Y}), first)
