# Calls a service that needs two seconds to start. An attempt remembers nothing of the one before, so the service's age
# is that of the job: the first ten letters of a job's id are the moment it was made, in Crockford's base 32.
service=$1 failure=$2
made=$(awk -v id="${DELTACI_JOB:?is set in a job: use deltaci run}" 'BEGIN {
    for (at = 5; at <= 14; at++)
        made = made * 32 + index("0123456789abcdefghjkmnpqrstvwxyz", substr(id, at, 1)) - 1
    printf "%d", made / 1000
}')

if [ $(($(date +%s) - made)) -ge 2 ]; then
    echo "$service answered"
    exit
fi

echo "Waiting for $service ..."
sleep 2
case $failure in
    flaky) echo "flaky test: $service was not up in time" ;;
    infra) echo "could not reach $service: connection refused" ;;
esac
exit 1
