module amazonsfarm/scripts/lab

go 1.26.8

require amazonsfarm v0.0.0

require golang.org/x/sys v0.49.0 // indirect

replace amazonsfarm => ../..
