# Both programs, static, on nothing. One image serves as master and as worker:
# the command says which.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./master ./worker && mkdir -p /out/data

FROM scratch
COPY --from=build /out/master /out/worker /bin/
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
VOLUME /data
EXPOSE 7171 9171
ENTRYPOINT ["/bin/master"]
