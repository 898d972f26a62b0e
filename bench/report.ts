import type { Measured } from './compare.ts'

/** The table: on the screen, and in `docs/benchmarks.md` when asked for. */
export interface Line {
  readonly store: string
  readonly what: string
  readonly measured: string
  readonly bound: string
  readonly ratio: number | null
  /** What the ratio should be, in words. */
  readonly aim: string
  readonly met: boolean | null
}

interface BesideBare {
  readonly store: string
  readonly what: string
  readonly own: Measured
  readonly bound: Measured
  /** The least ratio of the rates; null without one. */
  readonly aim: number | null
}

/** The line of a request that the service and the bare server answered in turn. */
export function besideBare({ store, what, own, bound, aim }: BesideBare): Line {
  const ratio = own.rate / bound.rate
  return {
    store,
    what,
    measured: `${rate(own.rate)}, ${micros(own.cpu)} CPU, p99 ${(own.p99 / 1000).toFixed(1)} ms`,
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
export const micros = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} µs`
