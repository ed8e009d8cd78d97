# Both programs, static, on nothing; no shell, no root. One image serves as master and as worker: the command says which.
# Where this build image cannot be had, scripts/image makes the same with the Go of the machine.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/bin/ ./master ./worker
# Volumes that are mounted here belong to the user below: the store, the authority, and the credential of the workers.
RUN mkdir -p /out/folders/data /out/folders/authority /out/folders/certs

FROM scratch
COPY --from=build /out/bin /bin
# Whom the programs believe when they reach a bucket by https.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/folders /
USER 65532:65532
EXPOSE 7171 9171 9172
ENTRYPOINT ["/bin/master"]
