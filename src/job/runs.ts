/** Runs of scheduled work that are folders, such as backups and exports: their names, and how old the newest may be. */
import { ConfigError } from '../config/config-error.ts'

/** The folder of a run: its time in UTC without colons, which some file systems refuse. */
export function runOf(scheduledAt: Date): string {
  return `${scheduledAt.toISOString().slice(0, 19).replaceAll(':', '-')}Z`
}

/** The time of a run, in Unix milliseconds. */
export function startOfRun(run: string): number {
  return Date.parse(`${run.slice(0, 11)}${run.slice(11).replaceAll('-', ':')}`)
}

export function isRun(name: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ$/.test(name)
}

const hourMs = 3_600_000

interface Period {
  readonly everyHours: number
  /** Unix milliseconds. */
  readonly now: number
}

/**
 * Describes the newest complete run, for an operator.
 *
 * @param of The things that the run makes, in the plural as the schedule has it: `backups`.
 * @param startedAt Unix milliseconds. Null: none is complete.
 * @throws ConfigError when it is older than two periods.
 */
export function requireRecentRun(of: string, startedAt: number | null, { everyHours, now }: Period): string {
  if (startedAt === null) return 'none is complete yet'
  const age = (now - startedAt) / hourMs
  if (age > everyHours * 2)
    throw new ConfigError(
      `The newest complete ${of.slice(0, -1)} is ${Math.round(age)} hours old, and one is due every ${everyHours} hours. Search the log for troupe:${of}, and run troupe redrive.`,
    )
  return `the newest complete one is ${Math.round(age)} hours old`
}
