/** Jobs without entries, of which an actor has one of a kind: imports, moves and arrivals. */
import type { ClaimedJob } from './job-store.ts'
import type { JobQueue, RunResult } from './worker.ts'

/**
 * A job continues with at most this delay after its process was killed. A process looks for jobs when it starts, so a restart
 * continues them sooner. On a sharded database, every look asks all servers.
 */
const pollMs = 300_000

/** @param running The most jobs that run at once in this process. */
export function singleRunQueue(running: number, jobQueue: Pick<JobQueue, 'kind' | 'run' | 'longestMs'>): JobQueue {
  return { ...jobQueue, hostOf: ({ actorId }) => actorId, most: { running, ofActor: 1, ofHost: 1 }, pollMs }
}

const fresh = { state: 'live', attempts: 0, failingSince: null, reason: '' } as const

/** The row is deleted. */
export const removed: RunResult = { settled: { done: null, dueAt: 0, ...fresh }, entries: [] }

/** The row stays, with what the job did. */
export const ended: RunResult = { settled: { done: 1, dueAt: 0, ...fresh }, entries: [] }

/** The job runs again at `dueAt`, in Unix milliseconds. */
export function later(
  { done, failingSince }: ClaimedJob,
  { dueAt, attempts, reason = '' }: { readonly dueAt: number; readonly attempts: number; readonly reason?: string },
): RunResult {
  return { settled: { done, state: 'live', failingSince, dueAt, attempts, reason }, entries: [] }
}
