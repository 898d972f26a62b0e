/** The retry policy of handlers. Pure functions. Times are Unix milliseconds. */
import { backoffMs } from '../outbox/policy.ts'

/** A handler that failed this number of times waits for a redrive. */
export const maxAttempts = 20
/** The longest pause between two attempts. */
const longestPauseMs = 300_000

export interface Failure {
  readonly now: number
  /** Failed attempts before this one. */
  readonly attempts: number
  /** From 0, and below 1. */
  readonly random: number
}

/** When a failed handler runs again. Null: it is given up. */
export function retryAt({ now, attempts, random }: Failure): number | null {
  return attempts + 1 >= maxAttempts ? null : now + backoffMs(attempts, random, longestPauseMs)
}

const longestReason = 500

/** The reason that is stored with a failure, for the operator. */
export function reasonOf(error: unknown): string {
  return storable(error instanceof Error ? error.message : String(error))
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '').slice(0, longestReason)
}
