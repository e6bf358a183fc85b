package main

import (
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/dynamicconfig"
)

// searchAttributes are what an operator may search agents and dreams by. Ids and states only: search attributes are
// never encrypted.
var searchAttributes = map[string]enumspb.IndexedValueType{
	"OneirosAgent":       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"OneirosPhase":       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"OneirosDepth":       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"OneirosOutcome":     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"OneirosState":       enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"OneirosSpendMicros": enumspb.INDEXED_VALUE_TYPE_INT,

	"OneirosInterruptedOn": enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

// renamed are search attributes of earlier builds, each with its name of today. The field behind the name stays, so
// that a query finds what was written before and after, and a history of an earlier build shows the name of today.
var renamed = map[string]string{"OneirosLife": "OneirosState"}

// attributes are those to register.
func attributes(o options) map[string]enumspb.IndexedValueType {
	if o.noSearch {
		return nil
	}
	return searchAttributes
}

// pragmas of the file. synchronous=full, not normal: with normal a power cut may take back the last acknowledged
// commits, and a recorded wake must stay recorded. It costs about 1 ms a signal (measured 3.4 against 2.5 ms) and a
// quarter of the throughput (111 against 150 workflows/s).
var pragmas = map[string]string{"journal_mode": "wal", "synchronous": "full", "busy_timeout": "5000"}

// tuning is the dynamic configuration. Each line was measured on one shard, two cores, SQLite.
func tuning(o options) dynamicconfig.StaticClient {
	const pollsPerSecond = 2000 // The default 20 a shard adds 40-50 ms to every durable step when there is one shard.
	config := dynamicconfig.StaticClient{
		dynamicconfig.TransferProcessorMaxPollRPS.Key():   pollsPerSecond,
		dynamicconfig.TimerProcessorMaxPollRPS.Key():      pollsPerSecond,
		dynamicconfig.OutboundProcessorMaxPollRPS.Key():   pollsPerSecond,
		dynamicconfig.VisibilityProcessorMaxPollRPS.Key(): pollsPerSecond,

		// One partition: on one host the four of the default only forward to each other.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,

		// A poll for a result that missed its notification waits this long; at the default of 20 s it did so in 7 of
		// 8 runs.
		dynamicconfig.HistoryLongPollExpirationInterval.Key(): time.Second,

		// Both together push a cancellation to the worker in 6-9 ms without heartbeats; one alone never does.
		dynamicconfig.WorkerCommandsEnabled.Key():             !o.noCommands,
		dynamicconfig.EnableCancelActivityWorkerCommand.Key(): !o.noCommands,

		dynamicconfig.EnableDeploymentVersions.Key(): !o.noVersions,

		// A worker that shuts down gets no task after its last poll.
		dynamicconfig.EnableCancelWorkerPollsOnShutdown.Key(): true,
		// Fairness between agents, once a task names a fairness key.
		dynamicconfig.MatchingAutoEnableV2.Key(): true,
		// A search attribute added now can be searched now.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,

		dynamicconfig.WorkflowTimeSkippingEnabled.Key(): o.timeSkip,
	}
	// With skipped time, a second run that continued as new takes itself for less than a second old and waits; the
	// skipping then jumps over months of that wait.
	if o.timeSkip {
		config[dynamicconfig.WorkflowIdReuseMinimalInterval.Key()] = time.Duration(0)
	}
	if o.suggest > 0 {
		config[dynamicconfig.HistoryCountSuggestContinueAsNew.Key()] = o.suggest
	}
	return config
}
