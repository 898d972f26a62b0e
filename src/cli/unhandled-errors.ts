/** Errors of the application outside of any request. */
import type { Log } from '../observe/log.ts'

/**
 * Logs unhandled rejections and uncaught exceptions. A rejection loses one piece of work, so the service continues.
 * After an exception, interrupted work may be half done, so the service must end.
 *
 * Only the command line calls this: an application that embeds the service owns its process.
 *
 * @returns A promise that resolves at the first uncaught exception.
 */
export function watchUnhandledErrors(log: Log): Promise<void> {
  process.on('unhandledRejection', (error: unknown) => {
    log.error({ error }, 'Unhandled promise rejection in the application')
  })
  return new Promise((resolve) => {
    process.on('uncaughtException', (error: unknown) => {
      log.fatal({ error }, 'Uncaught exception in the application: stopping the service')
      resolve()
    })
  })
}
