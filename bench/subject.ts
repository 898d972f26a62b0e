/** The protocol between a measured process and the measuring process. */
import { readFileSync } from 'node:fs'

export interface Subject {
  readonly database: string
  readonly keys: string
  /** Number of tools that AI clients find. Default: 50. */
  readonly tools?: number
  /** Whether the application declares data. Version 0.1 cannot start with declared data. Default: true. */
  readonly declares?: boolean
  /** `TroupeOptions.historyDays`. Default: as in the configuration. */
  readonly historyDays?: number
}

export interface Usage {
  /** Microseconds of processor time since the start. */
  readonly cpu: number
  /** Resident memory in bytes. */
  readonly rss: number
  /** Bytes that the process has read and written through system calls: files, sockets and pipes. 0 without Linux. */
  readonly read: number
  readonly written: number
}

function systemCalls(): Pick<Usage, 'read' | 'written'> {
  const text = process.platform === 'linux' ? readFileSync('/proc/self/io', 'utf8') : ''
  const of = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return { read: of('rchar'), written: of('wchar') }
}

/** Sends the port, answers `usage` messages, and exits after `stop`. */
export function serveMeasurements(port: number, stop: () => Promise<void>): void {
  process.send?.({ port })
  process.on('message', (message: 'usage' | 'stop') => {
    if (message === 'usage') {
      const { user, system } = process.cpuUsage()
      process.send?.({ cpu: user + system, rss: process.memoryUsage.rss(), ...systemCalls() } satisfies Usage)
    } else {
      void stop().then(() => process.exit(0))
    }
  })
}

/** The lists with indexes of `done` and `due`. */
export const indexedLists = ['indexed_small', 'indexed_large'] as const
