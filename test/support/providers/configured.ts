/** Creates the providers of a service without a service. */
import { after } from 'node:test'
import { randomBytes } from 'node:crypto'
import { ConfiguredProviders, configuredProviders, outsidePlans } from '../../../src/sign-in/configured.ts'
import type { Provider } from '../../../src/sign-in/provider.ts'
import { KeySets } from '../../../src/sign-in/providers/key-sets.ts'
import { Outbound } from '../../../src/sign-in/providers/outbound.ts'
import type { ProviderDeclaration } from '../../../src/sign-in/providers/settings.ts'
import { createLog } from '../../../src/observe/log.ts'
import { forEachFile } from '../file-hooks.ts'
import { challengeOf } from './github.ts'

/** `BASE_URL` of the service. */
export const baseUrl = 'https://notes.example.com'

export interface Built {
  readonly providers: ConfiguredProviders
  /** Returns the provider with this name. Default: the first provider. */
  one(name?: string): Provider
}

const outbounds: Outbound[] = []
forEachFile(() =>
  after(async () => {
    for (const outbound of outbounds.splice(0)) await outbound.close()
  }),
)

/** Creates providers whose connections close with the test file. */
export function build(
  declared: readonly ProviderDeclaration[],
  options: { readonly env?: Record<string, string>; readonly now?: () => number; readonly allowHttp?: boolean } = {},
): Built {
  const { env = {}, now = Date.now, allowHttp = true } = options
  const outbound = new Outbound({ allowHttp, release: '0.0.0-test' })
  outbounds.push(outbound)
  const providers = new ConfiguredProviders(outsidePlans(configuredProviders(declared, env, { allowHttp: true })), {
    outbound,
    keySets: new KeySets(outbound, now),
    now,
    baseUrl,
    log: createLog('silent'),
  })
  return {
    providers,
    one(name) {
      const found = name === undefined ? providers.all[0] : providers.find(name)
      if (found === null || found === undefined) throw new Error(`Provider ${name} does not exist`)
      return found
    },
  }
}

export interface Proof {
  readonly verifier: string
  readonly challenge: string
}

export async function proof(): Promise<Proof> {
  const verifier = randomBytes(48).toString('base64url')
  return { verifier, challenge: await challengeOf(verifier) }
}
