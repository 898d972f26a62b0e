import type { Measured } from './compare.ts'

/** A line of the table on the screen and, with `--write`, in `docs/benchmarks.md`. */
export interface Line {
  readonly store: string
  readonly what: string
  readonly measured: string
  readonly bound: string
  readonly ratio: number | null
  /** Target of the ratio, such as `≤ 2`. */
  readonly aim: string
  readonly met: boolean | null
}

interface BesideBare {
  readonly store: string
  readonly what: string
  readonly own: Measured
  readonly bound: Measured
  /** Minimum ratio of the rates; null without a target. */
  readonly aim: number | null
}

/** Returns the line of a request that the service and the bare server answered alternately. */
export function besideBare({ store, what, own, bound, aim }: BesideBare): Line {
  const ratio = own.rate / bound.rate
  return {
    store,
    what,
    measured: `${rate(own.rate)}, ${micros(own.cpu)} CPU, p99 ${millis(own.p99)}`,
    bound: `${rate(bound.rate)}, ${micros(bound.cpu)} CPU bare`,
    ratio,
    aim: aim === null ? '' : `≥ ${aim}`,
    met: aim === null ? null : ratio >= aim,
  }
}

const columns = ['store', 'what', 'measured', 'beside', 'ratio', 'aim'] as const

export function tableOf(lines: readonly Line[]): string {
  const rows = lines.map((line) => [
    line.store,
    line.what,
    line.measured,
    line.bound,
    line.ratio === null ? '' : line.ratio.toFixed(2),
    line.aim === '' ? '' : `${line.aim}${line.met === null ? '' : line.met ? ' ✓' : ' ✗'}`,
  ])
  const widths = columns.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const format = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [format(columns), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...rows.map(format)].join(
    '\n',
  )
}

export const rate = (perSecond: number): string => `${Math.round(perSecond).toLocaleString('en')}/s`
/** Writes microseconds as milliseconds. */
export const millis = (value: number): string => `${(value / 1000).toFixed(1)} ms`
export const micros = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} µs`
/** Writes seconds, or milliseconds below a second. */
export const duration = (seconds: number): string =>
  seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${seconds.toFixed(1)} s`
export const megabytes = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`
