/**
 * Loaded before a test file in a run that records (`npm test -- --cover`). At its end, the process writes which functions of
 * `src` it executed.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { executionsVariable, type ExecutionRecord } from './execution-records.ts'

const folder = process.env[executionsVariable] ?? ''
if (folder !== '') record(new Session())

function record(session: Session): void {
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: false, detailed: false })
  process.on('exit', () => {
    session.post('Profiler.takePreciseCoverage', (error, taken) => {
      if (error !== null) throw error
      const functions = taken.result.flatMap(executedIn)
      const [, file = ''] = process.argv
      const text = JSON.stringify({ file, functions: [...new Set(functions)] } satisfies ExecutionRecord)
      writeFileSync(join(folder, `${process.pid}-${Date.now()}.json`), text)
    })
  })
}

/** Returns the executed functions of a script, such as `src/list/list-store.ts:140`. */
function executedIn({ url, functions }: Profiler.ScriptCoverage): string[] {
  if (!url.startsWith('file:')) return []
  const path = fileURLToPath(url)
  if (!existsSync(`${path}.map`)) return []
  const map = new SourceMap(JSON.parse(readFileSync(`${path}.map`, 'utf8')) as SourceMapPayload)
  const starts = [0, ...[...readFileSync(path, 'utf8').matchAll(/\n/g)].map(({ index }) => index + 1)]
  return functions.flatMap(({ functionName, ranges: [range] }) => {
    if (range === undefined || range.count === 0 || (functionName === '' && range.startOffset === 0)) return []
    const line = lineOf(starts, range.startOffset)
    const entry = map.findEntry(line, range.startOffset - (starts[line] ?? 0))
    if (!('originalSource' in entry)) return []
    const [, source] = /\/(src\/.+\.ts)$/.exec(entry.originalSource) ?? []
    return source === undefined ? [] : [`${source}:${entry.originalLine + 1}`]
  })
}

/** Returns the last line that starts at the offset or before it, counted from 0. */
function lineOf(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}
