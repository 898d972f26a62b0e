/** Faults of the application that no request waits for any more. */
import type { Log } from '../observe/log.ts'

/**
 * A promise that is rejected when nobody waits for it is the loss of one piece of work: it is logged, and the service
 * goes on. After an exception that nobody caught, whatever it broke off may be half done: the service has to end.
 *
 * Only the program does this. In an application that embeds the service the process is not ours.
 *
 * @returns A promise that resolves at the first such exception.
 */
export function watchLateFaults(log: Log): Promise<void> {
  process.on('unhandledRejection', (error: unknown) => {
    log.error({ error }, 'The application left a rejected promise behind: nobody waits for what it was to do')
  })
  return new Promise((resolve) => {
    process.on('uncaughtException', (error: unknown) => {
      log.fatal({ error }, 'The application threw where nobody could catch it: the service stops')
      resolve()
    })
  })
}
