/** A browser in which an owner is signed in. */
import type { BrowserContextOptions } from 'playwright-core'
import { desktop, openPage, type WatchedPage } from './browser.ts'
import type { TestActor, TestService } from './service.ts'
import { signIn } from './sessions.ts'

/** Opens a page of the actor, such as `/properties`, in a new session of the owner. */
export async function visitAsOwner(
  service: TestService,
  actor: TestActor,
  path = '',
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const page = await openPage({ viewport: desktop, ...options })
  const cookie = { name: 'oauth_token', value: await signIn(service, actor), url: service.url }
  await page.context().addCookies([{ ...cookie, httpOnly: true, sameSite: 'Lax' }])
  await page.goto(`${service.url}/${actor.id}/www${path}`)
  return page
}
