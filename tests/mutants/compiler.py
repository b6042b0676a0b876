"""A mutant's PTX, without the tuner: whether it compiles, and whether it differs from its template's, is asked before the
long way through the checks; and its machine code, of which the same is asked of what passes them. As a program: compiler.py
NVRTC ARCH < SOURCE > CODE, PTX for compute_90a and a cubin for sm_90a, so that what hangs or crashes NVRTC costs a process."""
import ctypes
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

NOBITS = 8  # a section that has a length and no bytes

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

    def translate(self, arch, *product):
        """What NVRTC makes of a family's only configuration; None if it does not compile."""
        try:
            run = subprocess.run([sys.executable, __file__, self.nvrtc, arch], input=self.render(*product), capture_output=True,
                                 timeout=60)
        except subprocess.TimeoutExpired:
            return None
        return run.stdout if run.returncode == 0 else None

    def compile(self, *product):
        """PTX instructions, of family, space, source, shape, layout and types."""
        ptx = self.translate(self.arch.replace("sm_", "compute_"), *product)
        return ptx and instructions(ptx.decode())

    def assemble(self, *product):
        """Machine code, of the same."""
        cubin = self.translate(self.arch, *product)
        return cubin and sections(cubin)


def instructions(ptx):
    """PTX without what no instruction reads: comments, and constants by name."""
    lines = (line.strip() for line in re.sub(r"//[^\n]*", "", ptx).splitlines())
    return [line for line in lines if line and not re.match(r"\.global .*= \d+;", line)]


def sections(cubin):
    """Of an ELF file: instructions, constants, what they refer to, and how much shared memory there is, by their names."""
    at, = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + i * size) for i in range(count)]
    found = {}
    for name, kind, _, _, begin, length, *_ in headers:
        start = headers[names][4] + name
        word = cubin[start:cubin.index(b"\0", start)].decode()
        if re.match(r"\.text|\.rel|\.nv\.constant|\.nv\.shared", word):
            found[word] = length if kind == NOBITS else cubin[begin:begin + length]
    return found


def code_of(nvrtc, arch, source):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=" + arch.encode(), b"--std=c++17")
    kind = "PTX" if arch.startswith("compute_") else "CUBIN"
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None)
    if nvrtc.nvrtcCompileProgram(program, len(options), options) != 0:
        raise SystemExit("it does not compile")
    getattr(nvrtc, f"nvrtcGet{kind}Size")(program, ctypes.byref(size))
    code = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{kind}")(program, code)
    return code.raw


if __name__ == "__main__":
    sys.stdout.buffer.write(code_of(ctypes.CDLL(sys.argv[1]), sys.argv[2], sys.stdin.buffer.read()))
