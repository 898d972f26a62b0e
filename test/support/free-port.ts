/** Finds ports for programs that must know their port before they listen. */
import { createServer } from 'node:net'

/** Returns a port of 127.0.0.1 that nothing listens on. Another program may take it before the caller does. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() =>
        address !== null && typeof address === 'object' ? resolve(address.port) : reject(new Error('No port')),
      )
    })
  })
}

/** Starts a program on a free port, and on another one when the port was taken meanwhile, at most five times. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(await freePort())
    } catch (error) {
      if (tries === 5 || !isTaken(error)) throw error
    }
  }
}

function isTaken(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return ('code' in error && error.code === 'EADDRINUSE') || isTaken(error.cause)
}
