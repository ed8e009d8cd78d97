// Package check is a module of its own, so that the farm does not depend on Kubernetes: its test
// decodes the manifests beside it into the types of the API, strictly. scripts/check-deploy runs
// it.
package check
