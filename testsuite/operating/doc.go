// Package operating checks what operators are given: the chart, the compose file, the alerts and the dashboard. It is a
// module of its own, because the tools that check them need what the product does not.
package operating
