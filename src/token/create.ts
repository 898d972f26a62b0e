import { BasicUses } from '../auth/basic-uses.ts'
import { currentContext } from '../observe/context.ts'
import type { Runtime } from '../runtime.ts'
import { Uses } from './last-used.ts'
import { OneTime } from './one-time.ts'
import { Purge } from './purge.ts'
import { SpaSessions } from './spa-sessions.ts'
import { Tokens } from './tokens.ts'

export type TokenModule = ReturnType<typeof createTokens>

export function createTokens({ config, store, log, now, keyRing, metrics, mail }: Runtime) {
  const oneTime = new OneTime(keyRing, now)
  return {
    tokens: new Tokens({
      store,
      log,
      now,
      maxSessionDays: config.maxSessionDays,
      onSession: (tx, grant) => store.afterCommit(tx, () => metrics.tokensIssued('session', grant)),
      onSignIn: (tx, { actorId, device }) =>
        store.afterCommit(tx, async () => {
          const language = currentContext()?.language?.()
          if (language !== undefined) await mail.setLanguage(actorId, language)
          await mail.event({ kind: 'sign_in', actorId, device })
        }),
    }),
    oneTime,
    spaSessions: new SpaSessions(store, oneTime),
    sessionUses: new Uses(store, log, now),
    basicUses: new BasicUses({ store, log, now }),
    purge: new Purge(store, log, now),
  }
}
