/** OAuth clients in other languages, by the requests that their documents and public reports show. */
import { type ClientShape, connect, opened } from './connection.ts'
import type { CompatRow } from './row.ts'

const back = ['https://program.example/back']
const isPublic = { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] }

const row = (client: string, version: string, flow: string, shape: ClientShape, source: string): CompatRow => ({
  group: 'OAuth clients',
  client,
  version,
  flow,
  expected: 'calls a tool, refreshes, and is refused after the owner ended the access',
  source,
  run: async (world) => connect(await opened(world), { namesResource: false, ...shape }),
})

export const oauthShapes: readonly CompatRow[] = [
  row(
    'golang.org/x/oauth2',
    '2022-03',
    'public client with Basic and an empty secret',
    { registration: { redirect_uris: back, ...isPublic }, secretBy: 'empty header' },
    'https://github.com/ory/fosite/pull/655',
  ),
  row(
    'golang.org/x/oauth2',
    '2022-03',
    'secret in the header, `access_type` in the authorization request',
    { registration: { redirect_uris: back }, secretBy: 'header', parameters: { access_type: 'offline' } },
    'https://github.com/golang/oauth2',
  ),
  row(
    'requests-oauthlib',
    '2016-08',
    'the same secret in the header and in the body',
    { registration: { redirect_uris: back }, secretBy: 'both' },
    'https://github.com/requests/requests-oauthlib/issues/249',
  ),
  row(
    'Postman',
    '2017-08',
    'the same secret in the header and in the body, its callback',
    { registration: { redirect_uris: ['https://oauth.pstmn.io/v1/callback'] }, secretBy: 'both' },
    'https://github.com/postmanlabs/postman-app-support/issues/3357',
  ),
  row(
    'AppAuth',
    '2021-01',
    'callback of an app, empty `client_secret`',
    {
      registration: { redirect_uris: ['com.example.notes:/oauth2redirect'], ...isPublic },
      parameters: { prompt: 'consent', nonce: 'a nonce' },
      tokenParameters: { client_secret: '' },
    },
    'https://github.com/openid/AppAuth-Android/issues/639',
  ),
  row(
    'Spring Security',
    '2026-11',
    'secret in the header, nonce, scope of OpenID Connect',
    {
      registration: { redirect_uris: ['https://program.example/login/oauth2/code/notes'] },
      secretBy: 'header',
      parameters: { nonce: 'a nonce', scope: 'openid profile mcp' },
    },
    'https://docs.spring.io/spring-security/reference/servlet/oauth2/client/client-authentication.html',
  ),
  row(
    'MSAL',
    '2026-11',
    'public client with telemetry and scope in the token request',
    {
      registration: { redirect_uris: ['http://localhost'], ...isPublic },
      redirect: 'http://localhost:49152',
      parameters: { client_info: '1', response_mode: 'query', scope: 'mcp openid profile offline_access' },
      tokenParameters: {
        client_info: '1',
        'x-client-SKU': 'msal.js.node',
        'x-client-VER': '2.16.2',
        scope: 'mcp openid profile offline_access',
      },
    },
    'https://learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow',
  ),
  row(
    'league/oauth2-client',
    '2026-11',
    'secret in the body, `approval_prompt` in the authorization request',
    { registration: { redirect_uris: back }, parameters: { approval_prompt: 'auto' } },
    'https://github.com/thephpleague/oauth2-client',
  ),
  row(
    'Home Assistant',
    '2026-11',
    'secret in the body, its shared callback',
    { registration: { redirect_uris: ['https://my.home-assistant.io/redirect/oauth'] }, secretBy: 'body' },
    'https://developers.home-assistant.io/docs/core/platform/application_credentials',
  ),
  row(
    'n8n',
    '2026-11',
    'secret in the header, its callback',
    { registration: { redirect_uris: ['https://n8n.example/rest/oauth2-credential/callback'] }, secretBy: 'header' },
    'https://docs.n8n.io/integrations/builtin/credentials/httprequest/',
  ),
]
