// Package compose is a module of its own, so that the farm does not depend on Compose: its test
// reads docker-compose.yml with the library of the second generation of Compose, which checks it
// against the specification. scripts/check-deploy runs it, beside Compose of the first generation.
package compose
