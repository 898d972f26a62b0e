/**
 * The session of the user. The access token is only in memory, and the refresh token in a cookie that no script can read
 * (`token_delivery: hybrid`). A reloaded page gets new tokens with the cookie.
 */

/** Path prefix of the service, derived from this file's location in `/assets`. */
export const base = new URL('..', import.meta.url).pathname.replace(/\/$/, '')

let session = null

/** Restores the session; null when the user is not signed in. */
export async function restore() {
  const id = new URLSearchParams(location.search).get('session')
  session = id === null ? await refresh() : await exchange(id)
  return session
}

/** Exchanges the one-time session id that the callback put into the URL. */
async function exchange(id) {
  const answer = await fetch(`${base}/oauth/spa/session/${encodeURIComponent(id)}`)
  return answer.ok ? tokensOf(await answer.json()) : null
}

async function refresh() {
  const answer = await post('/oauth/spa/token', { grant_type: 'refresh_token', token_delivery: 'hybrid' })
  return answer.ok ? tokensOf(await answer.json()) : null
}

function tokensOf({ access_token: accessToken, actor_id: actorId, redirect_url: redirectUrl }) {
  return { accessToken, actorId, redirectUrl }
}

export async function providers() {
  const { oauth_providers: all } = await (await fetch(`${base}/oauth/spa/config`)).json()
  return all.map(({ name, display_name: displayName }) => ({ name, displayName }))
}

/** Sends the browser to the provider, which sends it back to /login. */
export async function signIn(provider) {
  const answer = await post('/oauth/spa/authorize', {
    provider,
    redirect_uri: `${base}/login`,
    return_path: '/app',
    token_delivery: 'hybrid',
  })
  if (!answer.ok) throw new Error((await answer.json()).message)
  location.assign((await answer.json()).authorization_url)
}

export async function signOut() {
  await post('/oauth/spa/logout', {}, { authorization: `Bearer ${session.accessToken}` })
  session = null
}

/** Sends a request to the actor. Renews an expired access token once. */
export async function request(method, path, body) {
  const send = () =>
    fetch(`${base}/${session.actorId}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${session.accessToken}`,
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const answer = await send()
  if (answer.status !== 401 && answer.status !== 403) return answer
  session = (await refresh()) ?? session
  return send()
}

function post(path, body, headers = {}) {
  return fetch(base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}
