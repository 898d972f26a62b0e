/** The process that runs one version of the application for `troupe dev`, which watches its files. */
import { registerHooks } from 'node:module'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { codeFolder } from '../../release.ts'
import { loadApplication } from '../load-application.ts'
import { serve } from '../serve.ts'
import { UsageError } from '../usage-error.ts'
import type { Order, Report } from './messages.ts'

/** Time that running requests have to finish before a newer version replaces this one, in milliseconds. */
const longestEndMs = 500

export async function runWatched(file: string): Promise<number> {
  if (process.send === undefined) throw new UsageError('Unknown option --watched of troupe dev.')
  // The process that watches has ended, perhaps without a chance to say so.
  process.once('disconnect', () => process.exit(1))
  const orders = receiveOrders()
  await orders.load
  reportFiles()
  const app = await loadApplication(file)
  // Refuses invalid declarations while the version before still serves.
  await app.declared()
  report({ kind: 'loaded' })
  const { isFirst } = await orders.listen
  try {
    return await serve(app, {
      isQuiet: !isFirst,
      onReady: (freePort) => report({ kind: 'ready', freePort }),
      end: orders.end,
      longestEnd: async () => setTimeout(longestEndMs),
    })
  } finally {
    process.removeAllListeners('disconnect')
    process.disconnect?.()
  }
}

function report(message: Report): void {
  process.send?.(message)
}

interface Orders {
  readonly load: Promise<unknown>
  readonly listen: Promise<{ readonly isFirst: boolean }>
  readonly end: Promise<void>
}

function receiveOrders(): Orders {
  const load = Promise.withResolvers<void>()
  const listen = Promise.withResolvers<{ readonly isFirst: boolean }>()
  const end = Promise.withResolvers<void>()
  process.on('message', (order: Order) => {
    if (order.kind === 'load') load.resolve()
    else if (order.kind === 'listen') listen.resolve(order)
    else end.resolve()
  })
  return { load: load.promise, listen: listen.promise, end: end.promise }
}

/** Reports each file of the application when it is loaded, also one that turns out to be broken. */
function reportFiles(): void {
  const own = codeFolder.href
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(own))
        report({ kind: 'files', files: [fileURLToPath(url)] })
      return next(url, context)
    },
  })
}
