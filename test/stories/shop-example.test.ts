/** The example of a program with its own users: the shop, in one process and in two. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readSetCookie } from '../../src/testing/browser.ts'
import { onFreePort } from '../support/free-port.ts'
import { Workplace } from '../support/program.ts'
import { testKeys } from '../support/service.ts'
import { forEachStore } from '../support/stores.ts'

const server = join(dirname(dirname(import.meta.dirname)), 'examples', 'shop', 'server.ts')
const html = { accept: 'text/html' }

/** A browser that keeps cookies and follows redirects, at any process of the shop. */
class Customer {
  readonly cookies = new Map<string, string>()
  readonly #origin: string

  constructor(origin: string) {
    this.#origin = origin
  }

  async send(address: string, init: RequestInit = {}, at = this.#origin): Promise<Response> {
    const cookie = [...this.cookies].map((pair) => pair.join('=')).join('; ')
    const url = address.startsWith(this.#origin) ? address.slice(this.#origin.length) : address
    const answer = await fetch(at + url, {
      redirect: 'manual',
      ...init,
      headers: { ...html, cookie, 'sec-fetch-site': 'same-origin', ...Object.fromEntries(new Headers(init.headers)) },
    })
    for (const line of answer.headers.getSetCookie()) {
      const { name, value } = readSetCookie(line)
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return answer
  }

  post(path: string, form: Record<string, string>, origin = this.#origin): Promise<Response> {
    return this.send(path, { method: 'POST', body: new URLSearchParams(form), headers: { origin } })
  }

  async follow(address: string): Promise<{ answer: Response; at: string }> {
    let [answer, at] = [await this.send(address), address]
    for (let hops = 0; hops < 10 && answer.status >= 300 && answer.status < 400; hops += 1) {
      at = answer.headers.get('location') ?? ''
      answer = await this.send(at)
    }
    return { answer, at: at.replace(this.#origin, '') }
  }
}

describe('the README of the shop', () => {
  it('states the number of its lines of code', () => {
    const folder = dirname(server)
    const code = readFileSync(server, 'utf8')
      .split('\n')
      .filter((line) => !/^\s*($|\/\/|\/\*\*|\*)/.test(line))
    const [, stated] = /has (\d+) lines of code/.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? []
    assert.equal(Number(stated), code.length)
    assert.ok(code.length <= 47)
  })
})

forEachStore((dialect, _open, database) => {
  describe('the shop with its own users', () => {
    const place = new Workplace()
    const programs: ReturnType<Workplace['startFile']>[] = []
    let origin = ''
    let second = ''
    before(async () => {
      const { url } = await database()
      const run = (port: number, at: string): Promise<unknown> => {
        const settings = { DATABASE_URL: url, TROUPE_SECRET_KEYS: testKeys, TROUPE_MODE: 'development' }
        const program = place.startFile(server, [], { env: { ...settings, PORT: String(port), ORIGIN: at } })
        programs.push(program)
        return program.prints(/^Ready at (.*)$/m)
      }
      await onFreePort(async (port) => {
        origin = `http://localhost:${port}`
        await run(port, origin)
      })
      second = origin
      if (dialect === 'postgres')
        await onFreePort(async (port) => {
          second = `http://localhost:${port}`
          await run(port, origin)
        })
    })
    after(() => place.remove())

    const signIn = async (name: string): Promise<Customer> => {
      const customer = new Customer(origin)
      const answer = await customer.post('/login', { email: `${name}@example.com`, password: `${name} likes tea` })
      assert.equal(answer.status, 303)
      return customer
    }
    /** Opens the pages, and returns the path of the actor. */
    const enter = async (customer: Customer): Promise<string> => {
      const { answer, at } = await customer.follow('/my/oauth/login/host')
      assert.equal(answer.status, 200)
      assert.match(at, /^\/my\/[0-9a-f]{32}\/www$/)
      return at.replace('/www', '')
    }

    it('signs a customer in once: the pages of the actor open without another sign-in, in each process', async () => {
      const ada = await signIn('ada')
      const mine = await enter(ada)
      assert.equal(await enter(await signIn('ada')), mine)
      assert.notEqual(await enter(await signIn('ben')), mine)
      assert.equal((await ada.send(`${mine}/www`, {}, second)).status, 200)
      const headers = { 'content-type': 'application/json', accept: 'application/json' }
      const wish = { method: 'POST', headers, body: '{"text":"Violin"}' }
      assert.equal((await ada.send(`${mine}/actions/wish`, wish, second)).status, 200)
      const list = await ada.send(`${mine}/properties/wishes`, { headers })
      assert.deepEqual(await list.json(), [{ text: 'Violin', done: false }])
    })

    it('sends a visitor to the sign-in page of the shop, and then to the requested page', async () => {
      const mine = await enter(await signIn('ada'))
      const visitor = new Customer(origin)
      const { answer, at } = await visitor.follow(`${mine}/www/trust`)
      assert.deepEqual([answer.status, at.split('?', 1)[0]], [200, '/login'])
      const signed = await visitor.post(at, { email: 'ada@example.com', password: 'ada likes tea' })
      const back = await visitor.follow(signed.headers.get('location') ?? '')
      assert.deepEqual([back.answer.status, back.at], [200, `${mine}/www/trust`])
    })

    it('ends the session of the pages with the session of the shop, in each process', async () => {
      const ada = await signIn('ada')
      const mine = await enter(ada)
      const token = ada.cookies.get('oauth_token') ?? assert.fail()
      assert.equal((await ada.post('/logout', {})).status, 302)
      assert.deepEqual([ada.cookies.has('shop'), ada.cookies.has('oauth_token')], [false, false])
      const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
      assert.equal((await ada.send(`${mine}/properties`, { headers }, second)).status, 401)
    })

    it('refuses wrong passwords, forged cookies, forms of other sites and foreign targets', async () => {
      const visitor = new Customer(origin)
      const login = { email: 'ada@example.com', password: 'ada likes tea' }
      assert.equal((await visitor.post('/login', { ...login, password: 'x' })).status, 403)
      assert.equal((await visitor.post('/login', { ...login, email: 'eve@example.com', password: '' })).status, 403)
      assert.equal((await visitor.post('/login', login, 'https://evil.example')).status, 403)
      assert.equal((await visitor.post('/logout', {}, 'https://evil.example')).status, 403)
      for (const next of ['https://evil.example/', '//evil.example', `${origin}.evil.example/my/`, '/\\evil.example']) {
        const answer = await visitor.post(`/login?next=${encodeURIComponent(next)}`, login)
        assert.equal(answer.headers.get('location'), '/my/oauth/login/host', next)
      }
      const forged = new Customer(origin)
      for (const value of [`ada@example.com:${'A'.repeat(43)}`, 'ada@example.com', '%', `:${'A'.repeat(43)}`]) {
        forged.cookies.set('shop', value)
        assert.equal((await forged.follow('/my/oauth/login/host')).at.split('?', 1)[0], '/login', value)
      }
    })

    it('shuts down cleanly on SIGTERM', async () => {
      for (const program of programs) program.signal('SIGTERM')
      for (const { ended } of programs) {
        const { code, stderr } = await ended
        assert.equal(code, 0)
        assert.doesNotMatch(stderr, /ERROR|Error/)
      }
    })
  })
})
