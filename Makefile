# make            builds the program and the library, and fetches what is missing for that
# make check      builds and runs every test; ends with "N passed, N failed, N skipped"
# make tune       builds and tunes this machine's GPU, or a software one where there is none:
#                 make tune DEVICE=1 ARGS="--shapes 4096 --budget 10m"
# make install    puts program, library, header and manual under PREFIX
# make clean      removes the build folder
#
# The build itself is meson's; this is the way in for a machine that has nothing yet (Debian 12, Ubuntu 24.04).

BUILD  = build
PREFIX = /usr/local
DEVICE = 0
ARGS   =
SETUP  =                # more options of meson setup: SETUP=-Db_sanitize=address,undefined

PROGRAM = $(BUILD)/tuner/gemmtune
WHEELS  = $(abspath $(BUILD))/cuda
# Where cuda.h and nvrtc.h may lie; the last place is filled from the wheels.
HOMES   = "$${CUDA_HOME:-}" /usr/local/cuda /opt/cuda /usr $(WHEELS)/nvidia/cu13

# Sets $home to the folder that has the CUDA headers, or to nothing.
FIND_CUDA = home=; for folder in $(HOMES); do \
	if [ -f "$$folder/include/cuda.h" ] && [ -f "$$folder/include/nvrtc.h" ]; then home=$$folder; break; fi; done
# NVRTC from the wheels, for where there is no toolkit; gemmtune reads an empty value as none.
USE_NVRTC = GEMMTUNE_NVRTC="$${GEMMTUNE_NVRTC:-$$(ls $(WHEELS)/nvidia/cu13/lib/libnvrtc.so.* 2>/dev/null | head -1)}"

.PHONY: all packages cuda check tune install clean
.NOTPARALLEL:

all: cuda
	@$(FIND_CUDA); \
	options="--prefix=$(PREFIX) -Dtoolkit=$$home -Dwerror=$(if $(filter true 1,$(CI)),true,false) $(SETUP)"; \
	if [ -f $(BUILD)/build.ninja ]; then again=--reconfigure; fi; \
	meson setup $$again $(BUILD) $$options && ninja -C $(BUILD)

# Each command that is needed, and the package that has it.
packages:
	@missing=; \
	for pair in "$(CC) gcc libc6-dev" "meson meson" "ninja ninja-build" "pkg-config pkg-config" \
	            "sqlite3 sqlite3" "python3 python3"; do \
		set -- $$pair; command=$$1; shift; \
		command -v $$command >/dev/null || missing="$$missing $$*"; \
	done; \
	pkg-config --exists sqlite3 2>/dev/null || missing="$$missing libsqlite3-dev"; \
	$(FIND_CUDA); \
	if [ -z "$$home" ] && ! python3 -m pip --version >/dev/null 2>&1; then missing="$$missing python3-pip"; fi; \
	if [ -z "$$missing" ]; then \
		:; \
	elif ! command -v apt-get >/dev/null; then \
		echo "make: install these first (Debian's names):$$missing" >&2; exit 1; \
	elif [ "$$(id -u)" -ne 0 ]; then \
		echo "sudo apt-get install -y$$missing" >&2; exit 1; \
	else \
		apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y $$missing; \
	fi

cuda: packages
	@$(FIND_CUDA); \
	if [ -z "$$home" ]; then \
		echo "no CUDA toolkit: fetching NVRTC and the headers into $(WHEELS)"; \
		python3 -m pip install --quiet --root-user-action=ignore --upgrade --target $(WHEELS) \
			'nvidia-cuda-nvrtc==13.*' 'nvidia-cuda-runtime==13.*'; \
	fi

# One more at a time than there are cores: some wait for others.
check: all
	@rm -f $(BUILD)/meson-logs/testlog.json; \
	$(USE_NVRTC) meson test -C $(BUILD) --print-errorlogs --num-processes $$(($$(nproc) + 1)); code=$$?; \
	python3 -c 'import json, sys; \
	results = [json.loads(line)["result"] for line in open(sys.argv[1])]; \
	passed = sum(r in ("OK", "EXPECTEDFAIL") for r in results); \
	skipped = results.count("SKIP"); \
	print(f"{passed} passed, {len(results) - passed - skipped} failed, {skipped} skipped")' \
		$(BUILD)/meson-logs/testlog.json && exit $$code

# Without a driver: the software GPU, whose times are modelled.
tune: all
	@device=$(DEVICE); \
	python3 -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null || \
		{ echo "no CUDA driver on this machine: tuning the software GPU, times are modelled"; device=soft; }; \
	$(USE_NVRTC) $(PROGRAM) --device $$device $(ARGS)

# The loader keeps a list of the libraries in its folders: a program finds a new one only when that is made anew.
install: all
	meson install -C $(BUILD) --no-rebuild
	@if [ -n "$$DESTDIR" ]; then :; \
	elif [ "$$(id -u)" -eq 0 ]; then ldconfig; \
	else echo "programs find the library after: sudo ldconfig (or with LD_LIBRARY_PATH, where $(PREFIX) is your own)"; fi

clean:
	rm -rf $(BUILD)
