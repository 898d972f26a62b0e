/**
 * A shop with users and sessions of its own, on Express. Each customer has an actor with a wish list, whose pages and AI
 * clients work with the customer's account of the shop.
 */
import { createHmac, scryptSync, timingSafeEqual } from 'node:crypto'
import express from 'express'
import { type HostUser, toNodeHandler, troupe } from 'troupe'
import { z } from 'zod'

const { PORT: port = '3000', SECRET: secret = 'development', ORIGIN: origin = `http://localhost:${port}` } = process.env

// The users and sessions of the shop. Any user table and any session middleware work as well.
const hash = (password: string): Buffer => scryptSync(password, secret, 32)
const customers = new Map(['ada', 'ben'].map((name) => [`${name}@example.com`, hash(`${name} likes tea`)]))
const sign = (email: string): string => createHmac('sha256', secret).update(email).digest('base64url')
function customerOf(cookies: string | null): HostUser | null {
  const [, email = '', shown = ''] = /(?:^|; )shop=([^;:]+):([\w-]{43})(?:;|$)/.exec(cookies ?? '') ?? []
  return shown && timingSafeEqual(Buffer.from(shown), Buffer.from(sign(email))) ? { email, verified: true } : null
}

const app = troupe({
  type: 'urn:actingweb:example.com:shop',
  name: 'Shop',
  baseUrl: `${origin}/my`,
  signInUrl: '/login?next={return}',
  authenticate: ({ headers }) => customerOf(headers.get('cookie')),
})
const wishes = app.list('wishes', { item: z.object({ text: z.string().min(1), done: z.boolean().default(false) }) })
const wish = { description: 'Adds a wish', input: z.object({ text: z.string().min(1) }), mcp: true } as const
app.action('wish', wish, async ({ actor, input }) => ({ index: await actor.list(wishes).append(input) }))
app.schedule('tidy', { every: '1d' }, async ({ actors }) => {
  for await (const actor of actors.all()) await actor.list(wishes).removeWhere('done', true)
})

const site = express()
const cookie = { httpOnly: true, secure: true, sameSite: 'lax', encode: String } as const
const form = '<form method="post"><input name="email"><input name="password" type="password"><button>Sign in</button>'
site.get('/login', (_request, response) => void response.send(form))
// Another site must not sign a visitor in or out.
site.post(['/login', '/logout'], express.urlencoded(), ({ headers }, response, next) =>
  headers.origin === origin ? next() : void response.sendStatus(403),
)
site.post('/login', ({ body, query }, response) => {
  const { email, password } = z.object({ email: z.string(), password: z.string() }).parse(body)
  const known = customers.get(email)
  if (!known || !timingSafeEqual(hash(password), known)) return void response.sendStatus(403)
  const next = z.string().startsWith(`${origin}/my/`).catch('/my/oauth/login/host').parse(query['next'])
  response.cookie('shop', `${email}:${sign(email)}`, cookie).redirect(303, next)
})
site.post('/logout', (request, response, next) => {
  response.clearCookie('shop', cookie)
  app.sessions.end(request).then(({ cookies }) => response.append('Set-Cookie', [...cookies]).redirect('/login'), next)
})
site.use('/my', toNodeHandler(app))

const server = site.listen(Number(port), 'localhost', () => console.log(`Ready at ${origin}`))
process.once('SIGTERM', () => server.close(() => void app.close()))
