import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { z } from 'zod'
import { authorizePath, newPkce, registerClient, requestTokens } from '../support/oauth-client.ts'
import { Person, ways } from '../support/person.ts'
import { sqliteService, type StartOptions, type TestService } from '../support/service.ts'
import { writtenAuditLog } from '../support/written-audit-log.ts'

const programs: Server[] = []
const begin = sqliteService()

afterEach(() => {
  for (const program of programs.splice(0)) program.close()
})

/** A service where users sign in locally. */
const start = (name: string, options: StartOptions = {}): Promise<TestService> =>
  begin({ listen: true, name, localSignIn: true, ...options })

/** The redirect URI of a program on the user's own machine. */
async function waitingProgram(): Promise<string> {
  const page = '<!doctype html><html lang="en"><title>Back</title><main><h1>Back at the program</h1></main>'
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(page))
  programs.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/back`
}

describe('an AI client', () => {
  for (const [how, way] of Object.entries(ways)) {
    it(`is authorized, waits for approval, and is disconnected with one click, ${how} (R-OC-01, R-WEB-02)`, async () => {
      const notes = await start('Notes', {
        activityPerActor: 1000,
        declare: (app) =>
          app.action(
            'add_note',
            {
              description: 'Adds a note',
              input: z.object({ text: z.string() }),
              mcp: { name: 'create_note', title: 'Add a note', confirm: 'owner' },
            },
            async ({ actor, input }) => {
              await actor.set('note', input.text)
              return { added: input.text }
            },
          ),
      })
      const back = await waitingProgram()
      const client = await registerClient(notes, {
        client_name: 'Claude',
        redirect_uris: [back],
        token_endpoint_auth_method: 'none',
      })
      const pkce = newPkce()
      const ada = await Person.at(notes, way)
      await ada.page.goto(notes.url + authorizePath(client, pkce, { redirect_uri: back }))
      await ada.at('Claude wants to connect to your Notes account')
      await ada.press('button', 'Sign in with local sign-in to allow')
      await ada.at('Choose a test user')
      await ada.press('button', 'Sign in as Ada Lovelace')
      await ada.at('Back at the program')
      const answer = await requestTokens(notes, {
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code: new URL(ada.page.url()).searchParams.get('code') ?? '',
        redirect_uri: back,
        code_verifier: pkce.verifier,
      })
      assert.equal(answer.status, 200)
      const { access_token: token, actor_id: id } = (await answer.json()) as { access_token: string; actor_id: string }

      const call = async (): Promise<{ status: number; said: string }> => {
        const sent = await notes.request('/mcp', {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2025-11-25',
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name: 'create_note', arguments: { text: 'Buy a violin' } },
          }),
        })
        return { status: sent.status, said: await sent.text() }
      }
      assert.match((await call()).said, /\/www\/approvals\//)
      assert.equal(await (await notes.app.actors.get(id))?.get('note'), undefined)

      await ada.page.goto(`${notes.url}/${id}/www`)
      await ada.at('Overview')
      await ada.goTo('Connected apps')
      assert.match(await ada.text(), /Claude\s+Runs on this computer/)
      await ada.goTo('Requests')
      await ada.press('link', 'Claude wants to: Add a note')
      await ada.at('Claude wants to: Add a note')
      assert.match(await ada.text(), /text\s+"Buy a violin"/)
      await ada.press('button', 'Allow once')
      await ada.reads('Approved for one call.')
      assert.match((await call()).said, /"added":"Buy a violin"/)
      assert.equal(await (await notes.app.actors.get(id))?.get('note'), 'Buy a violin')
      // An approval is valid for one call.
      assert.match((await call()).said, /\/www\/approvals\//)

      await writtenAuditLog(notes)
      await ada.goTo('Activity')
      assert.match(await ada.text(), /Claude used the tool “create_note”/)
      await ada.goTo('Connected apps')
      await ada.press('button', 'Disconnect Claude')
      await ada.reads('App disconnected.')
      await ada.sees('No apps connected')
      assert.equal((await call()).status, 401)
      assert.deepEqual(ada.page.complaints, [])
    })
  }
})
