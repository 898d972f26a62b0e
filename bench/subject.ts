/** What is measured, and how its process talks to the one that measures. */
export interface Subject {
  readonly database: string
  readonly keys: string
}

export interface Usage {
  /** Microseconds of processor time since the start. */
  readonly cpu: number
  /** Bytes. */
  readonly rss: number
}

/** Tells the port, then its usage whenever it is asked, and ends when it is told to. */
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
