/** The server's time in milliseconds, in a script. It stands still while the script runs. */
export const NOW = `(function()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end)()`;
