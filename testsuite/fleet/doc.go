// Package fleet tries deployments as those who run them for years meet them: stores that were put back, servers that
// failed over, workflows that were reset.
package fleet
