/** The results of jobs without entries: imports, moves and arrivals. */
import type { ClaimedJob } from './job-store.ts'
import type { RunResult } from './worker.ts'

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
