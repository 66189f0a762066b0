# convlift on a machine with an NVIDIA GPU; without one it runs on the CPU.
#   docker build -t convlift .
#   docker run --rm --gpus all -v "$PWD/runs:/work/runs" convlift quickstart
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
RUN pip install --no-cache-dir '.[cpu,onnx]' && rm -rf /src && useradd --create-home user
RUN mkdir /work && chown user /work
USER user
WORKDIR /work
ENTRYPOINT ["explore"]
CMD ["devices"]
