/**
 * A process in which test files run one after the other, so that V8 compiles and optimizes the code that they share once. Its
 * parent orders the files (shared-files.ts). Each file is a suite with the name of the file.
 */
import { AsyncResource } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import { createRequire } from 'node:module'
import { after, suite } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'
import { recordOf } from './event-reporter.ts'
import { type FileMessage, type FileOrder, outputEnd, type TestFile } from './file-messages.ts'
import { changedState, processState } from './process-state.ts'
import { processorSeconds } from './processor-time.ts'

/** The name of file-hooks.ts, because this process must not share a module with the test files. */
const testFileChannel = 'troupe:test-file'
const { setTimeout } = globalThis
const require = createRequire(import.meta.url)
// Suites belong to the test that runs where they are declared, and tests of the file before may still be known.
const outside = new AsyncResource('TestFiles')
const errors: unknown[] = []
const keep = (error: unknown): void => void errors.push(error)
process.on('uncaughtExceptionMonitor', keep)
process.on('unhandledRejection', keep)
// The first hook adds the listeners of node:test to the process.
after(() => {})
let fileEnded = (): void => {}

/** The reporter of the process: sends the records to the parent. */
export default async function* report(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const path: string[] = []
  for await (const event of source) {
    const record = recordOf(event, path)
    if (record !== null) send(record)
    if ((event.type === 'test:pass' || event.type === 'test:fail') && event.data.nesting === 0) fileEnded()
    if (event.type === 'test:summary') yield ''
  }
}

// The parent was killed.
const exit = (): never => process.exit(1)
process.once('disconnect', exit)
process.on('message', (order: FileOrder) => {
  if (order !== 'end') return void runFile(order)
  process.off('disconnect', exit)
  process.disconnect?.()
})

async function runFile({ file, name }: TestFile): Promise<void> {
  const before = processState()
  const open = process.getActiveResourcesInfo().length
  const began = processorSeconds()
  await new Promise<void>((resolve) => {
    fileEnded = resolve
    void outside.runInAsyncScope(() =>
      suite(name, () => {
        channel(testFileChannel).publish({ file, name } satisfies TestFile)
        require(file)
      }),
    )
  })
  await resourcesClosed(open)
  const changed = changedState(before, processState())
  const faults = [
    ...(changed.length === 0 ? [] : [`It changed the process and did not restore: ${changed.join(', ')}`]),
    ...(isFailed(process.exitCode)
      ? [['Its process failed.', ...errors.map((error) => inspect(error))].join('\n')]
      : []),
  ]
  errors.length = 0
  process.exitCode = undefined
  for (const stream of [process.stdout, process.stderr]) stream.write(outputEnd)
  send({ kind: 'left', faults, processorSeconds: processorSeconds() - began, bytes: process.memoryUsage.rss() })
}

function isFailed(code: typeof process.exitCode): boolean {
  return code !== undefined && Number(code) !== 0
}

/** The process of a file alone would end now, or continue as long as something is open. */
async function resourcesClosed(before: number): Promise<void> {
  do {
    // Real time: resources close by events of other processes, and none of them is awaited here.
    await new Promise((resolve) => setTimeout(resolve, 2))
  } while (process.getActiveResourcesInfo().length > before)
}

function send(message: FileMessage): void {
  if (process.connected) process.send?.(message)
}
