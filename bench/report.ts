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
