# convlift on a machine with an NVIDIA GPU; without one it runs on the CPU.
#   docker build -t convlift .
#   mkdir -p runs
#   docker run --rm --gpus all --user "$(id -u)" -e HOME=/tmp -v "$PWD/runs:/work/runs" convlift quickstart
# The folder and --user: what Docker makes itself is root's, and the run's files are to be yours.
# NVIDIA's container toolkit mounts the driver's OpenCL library where the capability `compute` is asked
# for; convlift finds it without a registration file.
FROM python:3.12-slim
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
WORKDIR /src
COPY pyproject.toml README.md LICENSE convlift.py ./
COPY ir ir
COPY rewrites rewrites
COPY constraints constraints
COPY codegen codegen
COPY explore explore
COPY examples examples
RUN pip install --no-cache-dir '.[cpu,onnx]'
WORKDIR /work
RUN rm -rf /src && useradd --create-home user && chown user /work
USER user
ENTRYPOINT ["explore"]
CMD ["devices"]
