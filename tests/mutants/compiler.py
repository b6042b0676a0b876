"""A mutant's PTX, without the tuner: whether it compiles, and whether it differs from its template's, is asked before the
long way through the checks. As a program: compiler.py NVRTC ARCH < SOURCE > PTX, so that what hangs or crashes NVRTC
costs a process."""
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile


def type_options(types):
    """Of "f32", or "f32 split": types and math."""
    name, _, math = types.partition(" ")
    return ["--type", name, *(["--math", math] if math else [])]


class NoCompiler(Exception):
    pass


class Compiler:
    """NVRTC where the tuner finds it. Compiles what the tuner renders."""

    def __init__(self, program, arch):
        self.program, self.arch = program, arch
        found = subprocess.run([program, "doctor"], capture_output=True, text=True).stdout
        path = re.search(r"^ok +NVRTC +\S+, (.*)$", found, re.MULTILINE)
        if not path:
            raise NoCompiler("NVRTC is missing: " + found)
        self.nvrtc = path[1]

    def render(self, family, space, source, shape, layout, types):
        with tempfile.TemporaryDirectory(prefix="mutant.") as folder:
            pathlib.Path(folder, family + ".cu").write_text(source)
            pathlib.Path(folder, family + ".sql").write_text(space)
            return subprocess.run([self.program, "render", family, "--templates", folder, "--arch", self.arch,
                                   "--shapes", shape, "--layout", layout, *type_options(types)], capture_output=True, check=True).stdout

    def compile(self, family, space, source, shape, layout, types):
        """The instructions of a family's only configuration; None if it does not compile."""
        rendered = self.render(family, space, source, shape, layout, types)
        try:
            run = subprocess.run([sys.executable, __file__, self.nvrtc, self.arch], input=rendered, capture_output=True,
                                 timeout=60)
        except subprocess.TimeoutExpired:
            return None
        return instructions(run.stdout.decode()) if run.returncode == 0 else None


def instructions(ptx):
    """PTX without what no instruction reads: comments, and constants by name."""
    lines = (line.strip() for line in re.sub(r"//[^\n]*", "", ptx).splitlines())
    return [line for line in lines if line and not re.match(r"\.global .*= \d+;", line)]


def ptx_of(nvrtc, arch, source):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=" + arch.replace("sm_", "compute_").encode(), b"--std=c++17")
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(options), options) != 0:
        raise SystemExit("it does not compile")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value


if __name__ == "__main__":
    sys.stdout.buffer.write(ptx_of(ctypes.CDLL(sys.argv[1]), sys.argv[2], sys.stdin.buffer.read()))
