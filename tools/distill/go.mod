module github.com/seed-56a03226/oneiros/tools/distill

go 1.26.0

require github.com/seed-56a03226/oneiros v0.0.0

require (
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

replace github.com/seed-56a03226/oneiros => ../..
