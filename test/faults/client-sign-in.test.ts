/** Links that end a sign-in in a page with `troupe/client`: only the tab that began a sign-in ends it. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createClient, RequestFailed } from 'troupe/client'
import { forEachService, type TestService } from '../support/service.ts'
import { newPerson, sharedProvider, signInAt, singlePageReturn } from '../support/sign-in.ts'

const provider = sharedProvider()
const site = 'https://app.example.com/'

/** A tab of a browser: its address, what it opened, and its storage. */
interface Tab {
  address: string
  opened: string
  readonly stored: Map<string, string>
}

/** Lets the code of the test run in this tab. */
function inTab(t: TestContext, tab: Tab, { blocksStorage = false } = {}): void {
  const members: Record<string, PropertyDescriptor> = {
    location: {
      value: {
        get href() {
          return tab.address
        },
        assign: (to: string) => void (tab.opened = to),
      },
    },
    history: {
      value: {
        replaceState: (_state: unknown, _title: string, to: string) =>
          void (tab.address = new URL(to, tab.address).href),
      },
    },
    sessionStorage: blocksStorage
      ? {
          get: () => {
            throw new Error('SecurityError')
          },
        }
      : {
          value: {
            getItem: (name: string) => tab.stored.get(name) ?? null,
            setItem: (name: string, text: string) => void tab.stored.set(name, text),
            removeItem: (name: string) => void tab.stored.delete(name),
          },
        },
  }
  for (const [name, member] of Object.entries(members)) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name)
    Object.defineProperty(globalThis, name, { ...member, configurable: true })
    t.after(() => {
      if (before === undefined) Reflect.deleteProperty(globalThis, name)
      else Object.defineProperty(globalThis, name, before)
    })
  }
}

function newTab(address = site): Tab {
  return { address, opened: '', stored: new Map() }
}

/** A client on the page of an application on another site. */
function clientOf(service: TestService, kept: { token: string | null } = { token: null }) {
  const sent: string[] = []
  const client = createClient({
    url: service.url,
    storage: { get: () => kept.token, set: (token) => void (kept.token = token) },
    fetch: (input, init) => {
      assert.ok(typeof input === 'string')
      const path = input.slice(service.url.length)
      sent.push(`${init?.method ?? 'GET'} ${path.split('?')[0]}`)
      return service.request(path, {
        ...init,
        headers: { ...(init?.headers as Record<string, string>), origin: new URL(site).origin },
      })
    },
  })
  return { client, sent, kept }
}

forEachService((start) => {
  async function begin() {
    const idp = await provider()
    const service = await start({
      ...signInAt(idp),
      spaCorsOrigins: [new URL(site).origin],
      spaRedirectOrigins: [new URL(site).origin],
    })
    return { idp, service }
  }

  /** The parameters of a sign-in that an attacker finished up to the link. */
  async function attackersLink({ idp, service }: Awaited<ReturnType<typeof begin>>): Promise<URLSearchParams> {
    return singlePageReturn(service, idp, newPerson(idp).sub, { redirect_uri: site, token_delivery: 'json' })
  }

  /** Signs a person in with this tab, and returns the client that finished. */
  async function signedIn(t: TestContext, { idp, service }: Awaited<ReturnType<typeof begin>>, tab: Tab) {
    inTab(t, tab)
    const before = clientOf(service)
    await before.client.signIn()
    assert.equal(tab.stored.size, 1)
    const { url } = await idp.signIn(tab.opened, newPerson(idp).sub)
    const back = await service.request(url.href.slice(service.url.length), { headers: { accept: 'text/html' } })
    tab.address = back.headers.get('location') ?? ''
    return clientOf(service)
  }

  describe('a page with a client', () => {
    it('ends the sign-in that its tab began, and keeps nothing of it (IDP-22)', async (t) => {
      const given = await begin()
      const tab = newTab()
      const { client, kept } = await signedIn(t, given, tab)
      assert.equal((await client.restore()).state, 'signed-in')
      assert.deepEqual([tab.stored.size, new URL(tab.address).search], [0, ''])
      assert.match(kept.token ?? '', /^[\w-]{64}$/)
    })

    it('does not exchange the session of a link that another browser began (IDP-22)', async (t) => {
      const given = await begin()
      const tab = newTab(`${site}?${(await attackersLink(given)).toString()}`)
      inTab(t, tab)
      const { client, sent, kept } = clientOf(given.service)
      assert.deepEqual(await client.restore(), { state: 'signed-out' })
      assert.deepEqual([sent, kept.token, tab.address], [[], null, site])
    })

    it('keeps the session that it has when such a link is opened (IDP-22)', async (t) => {
      const given = await begin()
      const tab = newTab()
      const own = await signedIn(t, given, tab)
      const restored = await own.client.restore()
      tab.address = `${site}?${(await attackersLink(given)).toString()}`
      const { client, sent } = clientOf(given.service, own.kept)
      assert.deepEqual(await client.restore(), restored)
      assert.deepEqual(sent, ['POST /oauth/spa/token'])
    })

    it('keeps its own pending sign-in when such a link is opened (IDP-22)', async (t) => {
      const given = await begin()
      const tab = newTab()
      const pending = await signedIn(t, given, tab)
      const returned = tab.address
      tab.address = `${site}?${(await attackersLink(given)).toString()}`
      assert.deepEqual(await clientOf(given.service).client.restore(), { state: 'signed-out' })
      tab.address = returned
      assert.equal((await pending.client.restore()).state, 'signed-in')
    })

    it('takes neither a form, nor an error, nor a session from a link with a wrong state (IDP-22)', async (t) => {
      const given = await begin()
      const link = await attackersLink(given)
      const [session, state] = [link.get('session') ?? '', link.get('state') ?? '']
      const tab = newTab()
      await signedIn(t, given, tab)
      const [own = ''] = [...tab.stored.values()]
      for (const query of [
        `session=${session}`,
        `session=${session}&state=`,
        `session=${session}&state=${state}`,
        `session=${session}&state=${own.slice(0, -1)}`,
        `session=${session}&state=${state}&state=${own}`,
        `session=${session}#state=${own}`,
        `session=${session}&email_required=true&state=${state}`,
        `session=${session}&email_required=true`,
        `error=access_denied&error_description=Call+555-0100&state=${state}`,
        'error=access_denied&error_description=Call+555-0100',
      ]) {
        tab.address = `${site}?${query}`
        const { client, sent } = clientOf(given.service)
        assert.deepEqual(await client.restore(), { state: 'signed-out' }, query)
        assert.deepEqual(sent, [], query)
      }
      assert.equal(tab.stored.size, 1)
    })

    it('does not begin a sign-in where the browser forbids it to keep the state (IDP-22)', async (t) => {
      const { service } = await begin()
      const tab = newTab()
      inTab(t, tab, { blocksStorage: true })
      const refused = await clientOf(service)
        .client.signIn()
        .then(
          () => null,
          (error: unknown) => error,
        )
      assert.ok(refused instanceof RequestFailed)
      assert.deepEqual([refused.code, tab.opened], ['no_storage', ''])
    })
  })
})
