/** A service with an operator and an owner who have signed in. */
import type { IdentityProvider } from './identity-provider.ts'
import type { StartOptions, TestService } from './service.ts'
import { actorIn, signIn, signInAt, TestBrowser } from './sign-in.ts'

export interface OperatedService {
  readonly service: TestService
  /** Signed in as ada@example.com, the operator. */
  readonly operator: TestBrowser
  /** The actor of the operator. */
  readonly own: string
  /** Signed in as bob@example.com, the owner of `id`. */
  readonly bob: TestBrowser
  readonly id: string
}

export async function operatedService(
  start: (options?: StartOptions) => Promise<TestService>,
  provider: IdentityProvider,
  options: StartOptions = {},
): Promise<OperatedService> {
  const service = await start({
    admins: ['ada@example.com'],
    activityPerActor: 1000,
    ...signInAt(provider),
    ...options,
  })
  const operator = new TestBrowser(service)
  const own = actorIn(await signIn(operator, provider, 'ada'))
  const bob = new TestBrowser(service)
  const id = actorIn(await signIn(bob, provider, 'bob'))
  return { service, operator, own, bob, id }
}
