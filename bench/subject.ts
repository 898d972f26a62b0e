/** The protocol between a measured process and the measuring process. */
export interface Subject {
  readonly database: string
  readonly keys: string
  /** Number of tools that AI clients find. Default: 50. */
  readonly tools?: number
}

export interface Usage {
  /** Microseconds of processor time since the start. */
  readonly cpu: number
  /** Resident memory in bytes. */
  readonly rss: number
}

/** Sends the port, answers `usage` messages, and exits after `stop`. */
export function serveMeasurements(port: number, stop: () => Promise<void>): void {
  process.send?.({ port })
  process.on('message', (message: 'usage' | 'stop') => {
    if (message === 'usage') {
      const { user, system } = process.cpuUsage()
      process.send?.({ cpu: user + system, rss: process.memoryUsage.rss() } satisfies Usage)
    } else {
      void stop().then(() => process.exit(0))
    }
  })
}
