/** `npm run screenshots`: takes the screenshots of the documents from a running service in a real browser. */
import { join } from 'node:path'
import { test } from 'node:test'
import type { BrowserContextOptions } from 'playwright-core'
import { z } from 'zod'
import type { App } from '../src/index.ts'
import { openPage, phone, type WatchedPage } from '../test/support/browser.ts'
import { relate } from '../test/support/friends.ts'
import { authorizeClient } from '../test/support/mcp-client.ts'
import { authorizePath, newPkce, registerClient } from '../test/support/oauth-client.ts'
import { sqliteService, type TestActor, type TestService } from '../test/support/service.ts'
import { signIn } from '../test/support/sessions.ts'

const images = join(import.meta.dirname, '..', 'docs', 'images')
const start = sqliteService()

const notebook = (app: App): App =>
  app
    .trustType({
      name: 'mcp_client',
      display_name: 'AI client',
      description: 'Adds notes and finds them, and removes them when you agree to it',
      permissions: { tools: { allowed: ['*'] } },
    })
    .action('add_note', { description: 'Adds a note', mcp: { title: 'Add a note' } }, () => ({ index: 0 }))
    .action(
      'clear_notes',
      {
        description: 'Deletes every note, for good',
        input: z.object({ reason: z.string() }),
        confirm: 'owner',
        annotations: { destructiveHint: true },
        mcp: { title: 'Empty the notebook' },
      },
      () => undefined,
    )

const notes = [
  { text: 'Read Menabrea', tags: ['work'], done: true },
  { text: 'Buy a violin', tags: ['music'], done: false },
]
const settings =
  '{"theme":"dark","font":{"size":14,"family":"Georgia"},"languages":["en","fr"],"beta":true,"avatar":null,"big":12345678901234567890}'

interface View {
  readonly name: string
  /** Path below `/<actor>/www`. */
  readonly path: string
  readonly width: number
  readonly height: number
  readonly dark?: true
  /** Selector of the element at which the screenshot begins. */
  readonly from?: string
}

async function shoot(page: WatchedPage, { name, width, height, from }: View): Promise<void> {
  const box = from === undefined ? null : await page.locator(from).boundingBox()
  const clip = { x: 0, y: Math.max(0, (box?.y ?? 0) - 20), width, height }
  await page.screenshot({ path: join(images, `${name}.png`), clip, fullPage: true })
}

async function visit(service: TestService, actor: TestActor, view: View): Promise<void> {
  const options: BrowserContextOptions = {
    viewport: { width: view.width, height: view.height },
    colorScheme: view.dark === true ? 'dark' : 'light',
  }
  const page = await openPage(options)
  const value = await signIn(service, actor)
  await page.context().addCookies([{ name: 'oauth_token', value, url: service.url, httpOnly: true, sameSite: 'Lax' }])
  await page.goto(`${service.url}/${actor.id}/www${view.path}`)
  await shoot(page, view)
}

async function waitingCall(actor: TestActor): Promise<string> {
  const { approvals } = (await (await actor.request('GET', '/approvals')).json()) as { approvals: { id: string }[] }
  return approvals[0]?.id ?? ''
}

async function decide(actor: TestActor, id: string): Promise<void> {
  await actor.request('PUT', `/approvals/${id}`, { approved: true })
}

void test('the pictures of the pages', async () => {
  const service = await start({
    listen: true,
    host: 'localhost',
    name: 'Notes',
    declare: notebook,
    localSignIn: true,
    activityPerActor: 1000,
  })
  const ada = await service.createActor('ada@example.com')
  const [grace, niklaus, asking] = [
    await service.createActor('grace@example.com'),
    await service.createActor('niklaus@example.com'),
    await service.createActor('mary@example.com'),
  ]
  await grace.request('POST', '/properties', { displayname: 'Grace Hopper' })
  await niklaus.request('POST', '/properties', { displayname: 'Niklaus Wirth' })
  await ada.request('POST', '/properties', {
    color: 'blue',
    displayname: 'Ada, Countess of Lovelace',
    email: 'ada@example.com',
    active: true,
    age: 36,
    notes: { _type: 'list' },
  })
  await ada.request('PUT', '/properties/settings', settings)
  for (const note of notes) await ada.request('POST', '/properties/notes', note)
  await ada.request('PUT', '/properties/notes/metadata', {
    description: 'The notebook',
    explanation: 'Each item is a note with text and tags',
  })
  await relate(grace, [service, ada])
  await relate(niklaus, [service, ada], 'associate')
  await relate(asking, [service, ada], 'associate', false)
  await ada.request('PUT', `/trust/friend/${grace.id}/permissions`, {
    properties: { denied: ['email'], excluded_patterns: ['notes'] },
  })
  const subscribed = await grace.request('POST', '/subscriptions', {
    peerid: ada.id,
    target: 'properties',
    granularity: 'high',
  })
  const subscription = subscribed.headers.get('location')?.split('/').at(-1) ?? ''
  for (const color of ['red', 'green']) await ada.request('PUT', '/properties/color', color)
  const client = await authorizeClient(service, ada)
  const reason = 'Spring cleaning: everything from last year goes'
  await client.modern('tools/call', { name: 'clear_notes', arguments: { reason } })
  await decide(ada, await waitingCall(ada))
  await client.modern('tools/call', { name: 'clear_notes', arguments: { reason: 'Everything is copied' } })
  const call = await waitingCall(ada)
  await service.app.running().then(({ parts }) => parts.auditLog.flush())

  const rights = `/trust/${grace.id}?ask=properties.read&target=color`
  const views: readonly View[] = [
    { name: 'overview', path: '', width: 1280, height: 860 },
    { name: 'overview-on-a-phone', path: '', width: 390, height: 844, dark: true },
    { name: 'requests', path: '/requests', width: 1160, height: 620 },
    { name: 'properties', path: '/properties', width: 1160, height: 640 },
    { name: 'properties-on-a-phone', path: '/properties', width: 390, height: 760, dark: true },
    { name: 'access', path: `/trust/${grace.id}`, width: 1160, height: 660, from: '#access-title' },
    { name: 'property', path: '/properties/settings', width: 1160, height: 640 },
    { name: 'list-on-a-phone', path: '/properties/notes', width: 390, height: 640, dark: true },
    { name: 'relationships', path: '/trust', width: 920, height: 950 },
    { name: 'rights', path: rights, width: 700, height: 1060, from: 'section[aria-labelledby=may]' },
    { name: 'timeline', path: `/subscriptions/${grace.id}/${subscription}`, width: 900, height: 640 },
    {
      name: 'approval-on-a-phone',
      path: `/approvals/${call}`,
      width: 390,
      height: 720,
      dark: true,
    },
  ]
  for (const view of views) await visit(service, ada, view)
})

void test('the picture of the consent', async () => {
  const service = await start({ listen: true, host: 'localhost', name: 'Notes', declare: notebook, localSignIn: true })
  const redirect = 'http://localhost:3118/callback'
  const registered = await registerClient(service, {
    client_name: 'Claude',
    redirect_uris: [redirect],
    token_endpoint_auth_method: 'none',
  })
  const page = await openPage({ viewport: { ...phone, width: 600, height: 660 } })
  await page.goto(service.url + authorizePath(registered, newPkce(), { redirect_uri: redirect }))
  await shoot(page, { name: 'consent', path: '', width: 600, height: 660 })
})
