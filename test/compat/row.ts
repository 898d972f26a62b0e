/** A row of the table of compatibility: one client, browser, provider, proxy or peer in one flow. */
import type { IdentityProvider } from '../support/identity-provider.ts'
import type { TestService } from '../support/service.ts'
import { newPerson, signIn, TestBrowser } from '../support/sign-in.ts'

export const groups = [
  'AI clients from packages',
  'AI clients by the requests that they send',
  'OAuth clients',
  'Identity providers',
  'Browsers',
  'Proxies',
  'Peers',
  'Command line',
  'Deployment',
] as const

export interface CompatRow {
  readonly group: (typeof groups)[number]
  readonly client: string
  /** The version of the program, or the month of the source. */
  readonly version: string
  readonly flow: string
  /** The outcome in the words of the page. */
  readonly expected: string
  /** Where the form of the requests is public: a URL, or the name of a package of `package.json`. */
  readonly source: string
  /** A program of the machine. Without one, `npm test` runs the row. */
  readonly program?: string
  /** Throws when something else happens. */
  readonly run: (world: World) => Promise<void>
}

/** One service with one identity provider. Each row uses people of its own. */
export class World {
  readonly service: TestService
  readonly provider: IdentityProvider
  /** Starts a service with other settings, which ends with the rows. */
  readonly start: (settings: object) => Promise<TestService>
  /** Registers what stops after the last row. */
  readonly atEnd: (end: () => Promise<void>) => void

  constructor({ service, provider, start, atEnd }: Pick<World, 'service' | 'provider' | 'start' | 'atEnd'>) {
    this.service = service
    this.provider = provider
    this.start = start
    this.atEnd = atEnd
  }

  /** Returns the browser of a new person who is signed in. */
  async browser(service: TestService = this.service): Promise<TestBrowser> {
    const browser = new TestBrowser(service)
    await signIn(browser, this.provider, newPerson(this.provider).sub)
    return browser
  }
}
